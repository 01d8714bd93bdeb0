"""What an experiments tree says about saturation: from aggregated tables to answers, plots and one page."""
