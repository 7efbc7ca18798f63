"""Answers from the tables of envkit/data."""
