"""Tests of two systems or more."""
