"""The model report: `model_report` judges a model on rows held out, next to `baselines`.

`calibration` and `agreement` judge its probabilities, `data_checks` the table, and `sentinel_rows`
rows that it is asked about.
"""
