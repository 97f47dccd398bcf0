"""Arithmetic worked out as on paper: impurities term by term, joint distributions, codes, likelihoods by leaf."""
