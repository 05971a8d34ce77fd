"""What a campaign asks of its participants: campaign.toml, read by people and programs."""
