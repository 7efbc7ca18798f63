"""What makes and finds prefixes."""
