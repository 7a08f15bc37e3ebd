"""The paper's procedures, as printed."""
