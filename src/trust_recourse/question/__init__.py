"""The question: what is asked, at what cost, and the words for it."""
