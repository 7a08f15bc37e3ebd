"""What people look at: tables, plots and pages, made from results."""
