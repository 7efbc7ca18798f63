"""What envkit does, one verb per module; nothing here prints."""
