"""Source 000: do LSTMs learn compositionally?"""
