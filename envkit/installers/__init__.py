"""What puts packages into an environment, and keeps the other installer out."""
