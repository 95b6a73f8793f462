"""What tables of calls hold: their header, their columns, and what their cells mean. Pure: text and counts in, decisions out."""
