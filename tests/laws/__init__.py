"""Random questions, each answered a second time by enumerating every row a person may become."""
