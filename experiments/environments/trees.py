"""The tree ensemble that peers are asked about beside the PTM: the same in every environment."""

from sklearn.ensemble import GradientBoostingClassifier


def boosted(X, y):
    """Gradient boosting with scikit-learn's own settings; by its seed the same model everywhere."""
    return GradientBoostingClassifier(random_state=0).fit(X, y)
