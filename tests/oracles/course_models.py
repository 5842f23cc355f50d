"""Models as a student of the lecture's course writes them, against the names of its engine alone.

Operations of one's own with ``ctx`` as a list, modules, an optimizer: word2vec, a deep averaging network, a
feed-forward language model. Imported by test_chalk_course.py after ``rote.chalk.install_as("edugrad")``.
"""

import edugrad.nn as nn
import numpy as np
from edugrad.data import BatchIterator
from edugrad.ops import Operation, Tensor, reduce_mean, reduce_sum, relu, tensor_op
from edugrad.optim import SGD, Optimizer


@tensor_op
class sigmoid(Operation):
    @staticmethod
    def forward(ctx, a):
        ctx.append(1 / (1 + np.exp(-a)))
        return ctx[-1]

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx
        return [grad_output * result * (1 - result)]


@tensor_op
class log(Operation):
    @staticmethod
    def forward(ctx, a):
        ctx.append(a)
        return np.log(a)

    @staticmethod
    def backward(ctx, grad_output):
        return [grad_output / ctx[0]]


@tensor_op
class exp(Operation):
    @staticmethod
    def forward(ctx, a):
        ctx.append(np.exp(a))
        return ctx[0]

    @staticmethod
    def backward(ctx, grad_output):
        return [grad_output * ctx[0]]


@tensor_op
class tanh(Operation):
    @staticmethod
    def forward(ctx, a):
        ctx.append(np.tanh(a))
        return ctx[0]

    @staticmethod
    def backward(ctx, grad_output):
        return [grad_output * (1 - ctx[0] ** 2)]


@tensor_op
class multiply(Operation):
    @staticmethod
    def forward(ctx, a, b):
        ctx.append(a)
        ctx.append(b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx
        return grad_output * b, grad_output * a


@tensor_op
class divide(Operation):
    """Each row of [batch, size] by a number of its own, [batch]."""

    @staticmethod
    def forward(ctx, rows, numbers):
        ctx += [rows, numbers]
        return rows / numbers[:, None]

    @staticmethod
    def backward(ctx, grad_output):
        rows, numbers = ctx
        of_numbers = -(grad_output * rows).sum(axis=1) / numbers**2
        return [grad_output / numbers[:, None], of_numbers]


@tensor_op
class sum_along_columns(Operation):
    @staticmethod
    def forward(ctx, a):
        ctx.append(a.shape)
        return a.sum(axis=1)

    @staticmethod
    def backward(ctx, grad_output):
        return [np.tile(grad_output[:, None], (1, ctx[0][1]))]


@tensor_op
class lookup_rows(Operation):
    @staticmethod
    def forward(ctx, matrix, indices):
        ctx += [matrix.shape, indices]
        return matrix[indices]

    @staticmethod
    def backward(ctx, grad_output):
        shape, indices = ctx
        grads = np.zeros(shape)
        for row, gradient in zip(indices, grad_output):
            grads[row] += gradient
        return [grads, np.zeros(indices.shape)]


@tensor_op
class concat(Operation):
    @staticmethod
    def forward(ctx, *arrays):
        ctx.extend(array.shape[1] for array in arrays)
        return np.hstack(arrays)

    @staticmethod
    def backward(ctx, grad_output):
        return np.split(grad_output, np.cumsum(ctx)[:-1], axis=1)


class Word2Vec(nn.Module):
    def __init__(self, words, size):
        super(Word2Vec, self).__init__()
        self.targets = nn.Linear(words, size, bias=False)
        self.contexts = nn.Linear(words, size, bias=False)

    def forward(self, targets, contexts):
        target_rows = lookup_rows(self.targets.weight, targets)
        context_rows = lookup_rows(self.contexts.weight, contexts)
        return sigmoid(sum_along_columns(multiply(target_rows, context_rows)))


def bce_loss(probabilities, labels):
    ones = Tensor(np.ones(labels.value.shape))
    likelihood = multiply(labels, log(probabilities)) + multiply(ones - labels, log(ones - probabilities))
    return multiply(Tensor(np.array(-1.0)), reduce_mean(likelihood))


def train_word2vec(epochs=30):
    """Words of one half are seen together, words of different halves never."""
    np.random.seed(1)
    pairs = np.array([(a, b) for a in range(6) for b in range(6) if a != b])
    labels = (pairs[:, 0] < 3) == (pairs[:, 1] < 3)
    model, losses = Word2Vec(6, 4), []
    optimizer = SGD(model.parameters(), lr=2.0)
    for _ in range(epochs):
        optimizer.zero_grad()
        probabilities = model(Tensor(pairs[:, 0]), Tensor(pairs[:, 1]))
        loss = bce_loss(probabilities, Tensor(labels.astype(float)))
        loss.backward()
        optimizer.step()
        losses.append(loss.value)
    return losses, ((probabilities.value > 0.5) == labels).mean()


def softmax_rows(logits):
    powers = exp(logits)
    return divide(powers, sum_along_columns(powers))


def cross_entropy_loss(probabilities, one_hots):
    right = sum_along_columns(multiply(one_hots, log(probabilities)))
    return multiply(Tensor(np.array(-1.0)), reduce_mean(right))


class DeepAveragingNetwork(nn.Module):
    def __init__(self, words, size, hidden, labels):
        super(DeepAveragingNetwork, self).__init__()
        self.embeddings = nn.Linear(words, size, bias=False)
        self.hidden1 = nn.Linear(size, hidden)
        self.hidden2 = nn.Linear(hidden, hidden)
        self.output = nn.Linear(hidden, labels)
        self.embeddings.weight = Tensor(np.random.uniform(-0.5, 0.5, self.embeddings.weight.value.shape))

    def forward(self, bags, lengths):
        average = divide(self.embeddings(bags), lengths)
        return self.output(relu(self.hidden2(relu(self.hidden1(average)))))


class Adagrad(Optimizer):
    def __init__(self, params, lr=0.01):
        super(Adagrad, self).__init__(params)
        self.lr = lr
        for param in self.params:
            param._grad_hist = np.zeros(param.value.shape)

    def step(self):
        for param in self.params:
            param._grad_hist += param.grad**2
            param.value -= self.lr / (np.sqrt(param._grad_hist) + 1e-7) * param.grad
        self._cur_step += 1


def train_deep_averaging(epochs=20, l2=1e-4):
    """Bags of 12 words; the label is which third of the vocabulary most of them come from."""
    np.random.seed(2)
    labels = np.random.randint(3, size=60)
    bags = np.random.poisson(0.3, size=(60, 12)) + np.repeat(np.eye(3)[labels], 4, axis=1)
    bags *= np.random.random(bags.shape) > 0.1  # word dropout
    model, losses, batches = DeepAveragingNetwork(12, 8, 16, 3), [], BatchIterator(20)
    optimizer = Adagrad(model.parameters(), lr=0.1)
    for _ in range(epochs):
        for batch in batches(bags, np.eye(3)[labels]):
            model.zero_grad()
            lengths = Tensor(batch.inputs.value.sum(axis=1))
            loss = cross_entropy_loss(softmax_rows(model(batch.inputs, lengths)), batch.targets)
            l2_sum = Tensor(np.array(0.0))
            for param in model.parameters():
                l2_sum += reduce_sum(param**2)
            loss = loss + multiply(Tensor(np.array(l2)), l2_sum)
            loss.backward()
            optimizer.step()
            losses.append(loss.value)
    probabilities = softmax_rows(model(Tensor(bags), Tensor(bags.sum(axis=1)))).value
    assert (batches.num_batches, optimizer._cur_step) == (3, 3 * epochs)
    return losses, (probabilities.argmax(axis=1) == labels).mean()


class FeedForwardLanguageModel(nn.Module):
    def __init__(self, words, size, window, hidden):
        super(FeedForwardLanguageModel, self).__init__()
        self.embeddings = nn.Linear(words, size, bias=False)
        self.hidden = nn.Linear(window * size, hidden)
        self.output = nn.Linear(hidden, words)

    def forward(self, *indices):
        context = concat(*(lookup_rows(self.embeddings.weight, column) for column in indices))
        return self.output(tanh(self.hidden(context)))


def train_language_model(epochs=60):
    np.random.seed(3)
    text = np.array([0, 1, 2, 3, 1, 0, 2, 4] * 8)
    windows = np.stack([text[:-2], text[1:-1]])
    model, losses = FeedForwardLanguageModel(5, 4, 2, 12), []
    optimizer = Adagrad(model.parameters(), lr=0.1)
    for _ in range(epochs):
        optimizer.zero_grad()
        probabilities = softmax_rows(model(*(Tensor(column) for column in windows)))
        loss = cross_entropy_loss(probabilities, Tensor(np.eye(5)[text[2:]]))
        loss.backward()
        optimizer.step()
        losses.append(loss.value)
    return losses, (probabilities.value.argmax(axis=1) == text[2:]).mean()
