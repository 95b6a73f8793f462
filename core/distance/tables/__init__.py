"""Decisions about tables of calls: their header, their columns, and the meaning of their cells. Pure: text and counts in, decisions out."""
