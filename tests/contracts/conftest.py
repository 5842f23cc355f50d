"""Small models: one thread is faster than two, and leaves the other to another worker."""

import torch

torch.set_num_threads(1)
