"""Catalogs driven step by step, without simulator, trace or judge: what is found here depends on none of them."""
