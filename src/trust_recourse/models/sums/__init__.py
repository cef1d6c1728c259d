"""Models that are sums of small terms: points, slopes, pairs, trees."""
