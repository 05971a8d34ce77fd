"""How well assessors agree, with intervals over topics."""
