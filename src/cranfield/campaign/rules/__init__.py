"""The rules of a campaign: campaign.toml, and the topics that it names."""
