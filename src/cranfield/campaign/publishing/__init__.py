"""What leaves the campaign: releases that prove themselves, and a static site."""
