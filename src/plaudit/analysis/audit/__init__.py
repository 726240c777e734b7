"""Audit: findings from a reward and its recorded history."""
