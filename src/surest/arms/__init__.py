"""What can be pulled: simulated arms, recorded rewards."""
