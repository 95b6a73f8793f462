"""Decisions about call tables: the header, the columns, and the meaning of the cells. Pure: text and counts in, decisions out."""
