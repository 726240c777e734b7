"""Spellings of NumPy, JAX and PyTorch: each means what its library means, or is refused with what to write."""

import re

import numpy as np
import pytest

from plaudit.errors import OutsideDomain
from plaudit.language.reading.context import SPELLINGS
from plaudit.language.reading.library_calls import find_spelling
from support.arrays import HEADER, assert_means, read_of, refusal

NUMPY = [
    "np.sqrt(np.abs(v)).sum() + np.exp(v).sum() + np.log(np.absolute(x) + 1) + np.log1p(np.fabs(x)) + np.expm1(x)",
    "np.sin(v).sum() + np.cos(x) + np.tanh(v).max() + np.arctan(v)[0] + np.arctan2(v, w).sum() + np.hypot(v, w)[1]",
    "np.arcsin(np.clip(v, -1, 1)).sum() + np.arccos(np.clip(x, -1, 1))",
    "np.floor(v).sum() + np.ceil(x) + np.round(v).sum() + np.rint(w).sum() + np.around(x) + np.sign(v).sum() + np.isinf(v).sum()",
    "np.add(v, w).sum() + np.subtract(v, 1).max() + np.multiply(v, w)[0] + np.divide(v, 2)[1] + np.true_divide(w, 2)[1]",
    "np.floor_divide(v, 2).sum() + np.mod(v, 2).sum() + np.remainder(w, 3).max() + np.power(v, 2).sum() + np.negative(v).sum()",
    "np.greater(v, w).sum() + np.greater_equal(v, 0).sum() + np.less(v, w).sum() + np.less_equal(x, 0) + np.equal(v, v).all()",
    "np.not_equal(v, w).sum() + np.logical_and(v > 0, w > 0).sum() + np.logical_or(v > 0, c).sum() + np.logical_not(c).sum()",
    "np.logical_xor(v > 0, c).sum() + np.logical_and(v, w).sum()",
    "np.where(v > 0, v, -2 * w).sum() + np.where(x > 0, x, 0.5) + np.where(c, 1.0, v).max() + np.where(c[0], v, w)[2]",
    "np.clip(x, -1, 1) + np.clip(v, 0, None).sum() + np.clip(v, None, w).sum() + np.clip(v, a_min=0, a_max=1).sum()",
    "v.clip(0, 1).max() + v.clip(min=0).sum() + v.clip(max=0.5).sum()",
    "np.minimum(v, w).sum() + np.maximum(v, 0.0).sum() + np.fmin(x, 1) + np.fmax(x, v).sum()",
    "np.square(v).sum() + np.deg2rad(v).sum() + np.radians(x) + np.rad2deg(v).max() + np.degrees(x)",
    "np.sum(v) + np.prod(v) + np.mean(v) + np.min(v) + np.max(v) + np.amin(w) + np.amax(w) + np.any(v > 1) + np.all(v < 1)",
    "np.linalg.norm(v - w) + np.linalg.norm(v, ord=1) + np.linalg.norm(w, np.inf) + np.linalg.norm(m) + np.linalg.norm(m, axis=-1).sum()",
    "np.dot(v, w) + np.inner(v, w) + np.vdot(v, w) + np.matmul(m, v).sum() + np.dot(v, 2.0)[0] + v.dot(w)",
    "np.cross(v, w)[0] - np.cross(v, w)[1] + np.cross(v, w)[2] + np.diff(u).max()",
    "np.array([x, v[0]], dtype=np.float64).sum() + np.asarray((x, 1.0)).max() + np.hstack([v, w])[4] + np.stack([v, w])[1, 1]",
    "np.full(3, x).sum() + np.full_like(v, 2.0).sum() * x + np.zeros(3) @ v + (np.ones((2, 3)) * m).sum()",
    "np.shape(v)[0] * x + np.size(m) * x + np.reshape(u, (3, 2))[2, 1] + np.ravel(m)[1] + np.transpose(m)[2, 0] + m.transpose()[0, 1] + v[0]",
    "(v > 0).astype(float).sum() + (v > 0).astype(int).sum() + v.astype(np.float64)[0] + np.float64(x) + v.copy()[0] + x",
    "float(x) + float(x > 0) + float('2.5') + float(np.sum(v))",
    "int(x > 0) + bool(v[0]) + int(bool(x)) + v[int(True)]",
    "np.argmax(v) + np.argmin(w) + np.argmax(m, axis=1).sum() + np.count_nonzero(v > 0) + np.count_nonzero(c) + x",
    "np.std(v) + np.var(u) + np.std(m, axis=0).sum() + np.var(v, ddof=1) + np.cumsum(v)[2]",
    "1.0 * np.isfinite(v).sum() + np.isnan(x) + np.isclose(x, x + 1e-9) + np.allclose(v, v) + np.nan_to_num(x) + np.isclose(v, w, atol=1.0).sum()",
    "np.log2(np.abs(x) + 1) + np.log10(np.abs(v) + 1).sum() + np.tan(x) + np.sinh(x) + np.cosh(x) + np.reciprocal(np.abs(x) + 1)",
    "np.trunc(v).sum() + np.fix(x) + int(x) + np.select([x > 1, x > 0], [v, w], default=2.0)[0] + np.interp(x, [-1.0, 0.0, 2.0], [3.0, 1.0, 5.0])",
    "np.expand_dims(v, 0)[0, 1] + np.squeeze(v[None])[1] + np.vstack([v, w])[1, 0] + v[:, None][1, 0] + v[None, :][0, 2] + v[..., None][2, 0] + x",
    "math.tan(x) + math.sinh(x) + math.cosh(x) + math.log2(abs(x) + 1) + math.log10(abs(x) + 1) + math.log(abs(x) + 1, 3)",
    "math.degrees(x) + math.radians(x) + math.isclose(x, 1.0, abs_tol=1.0) + math.isnan(x) + math.isfinite(x) + math.trunc(x)",
    "math.dist(v, w) + math.prod(v) + math.fsum(v) + math.hypot(*v) + math.hypot(x) + pow(x, 2) + sum(v, x) + np.clip(x, *(-1.0, 1.0))",
    "statistics.mean(v) + statistics.fmean(w) + sum(v.tolist() + [x]) + m[:, [0, 2]].sum() + m[0, [0, 2]].sum() + m[[0, 1], 2].sum()",
    "np.arcsinh(v).sum() + np.arccosh(np.abs(x) + 1) + np.arctanh(np.tanh(v)).sum() + np.ndim(m) * x + u[0]",
    "math.asinh(x) + math.acosh(abs(x) + 1) + math.atanh(math.tanh(x)) + (x if np.isscalar(x) else 5.0) + (5.0 if np.isscalar(v) else v.ndim) * v[0]",
    "np.hstack([m, m])[1, 4] + np.vstack([m, v])[2, 1] + np.dstack([v, w])[0, 1, 1] + np.column_stack((v, w))[2, 0] + np.hstack((x, v[1]))[0]",
    "np.tile(v, (2, 2))[1, 4] + np.tile(x, 3).sum() + np.repeat(v, 2)[3] + np.repeat(m, 2, axis=1)[1, 3] + np.sort(v)[1] + np.sort(m)[1, 2]",
    "np.finfo(np.float32).eps + np.finfo(float).max * (x > 99) + np.iinfo(np.int32).max + x",
    "np.cross(np.stack([v, w]), v)[1, 2] + np.cross(m.T, m[::-1].T, axis=0)[0].sum()",
    "np.einsum('p,p->', v, w) + np.einsum('pq,q->p', m, v)[1] + np.einsum('pp', m[:, :2]) + np.einsum('pq->qp', m)[2, 0] + np.einsum('p,q', v, w)[1, 2]",
    "np.einsum('...p,...p', m, w)[1] + np.einsum('bpq,bq->bp', np.stack([m, -m]), m)[1, 0] + np.einsum('pp->p', m[:, 1:])[1] + np.einsum('p->', v)",
    "np.einsum('p,p,p->', v, w, v, optimize=True) + np.einsum('...pq,...qk->...pk', np.stack([m, m]), m.T)[1, 0, 1] + np.einsum('ba,cb', m, m.T)[2, 1]",
    "(np.stack([m, m]) @ m.T)[1, 0, 1] + (m @ np.stack([m.T, -m.T]))[1].sum() + (np.stack([m, m]) @ v)[1, 0] + (v @ np.stack([m.T, m.T]))[0, 1]",
    "np.stack([m, 2 * m]).transpose(0, 2, 1)[1, 2, 0] + np.swapaxes(np.stack([m, -m]), 1, 2)[1].max() + m.transpose(1, 0)[2, 1] + np.transpose(m, (1, 0))[2, 1]",
    "np.dot(np.stack([m, m]), v)[1, 0] + np.dot(np.stack([m, m]), m.T)[1, 0, 1] + v[0]",
    "np.concatenate([v, w])[4] + np.arange(3) @ v + (np.zeros_like(v) + np.ones_like(v) * v).sum() + v.sum().item()",
    "v.astype(int).sum() + (-3 * v).astype(np.int64)[1] + np.asarray(m, dtype=int)[0, 1] + np.equal(v > 0, w > 0).astype(np.uint32).mean()",
    "np.split(u, 3)[1].sum() + np.split(m, 3, axis=1)[2][0, 0] + np.split(u, [2, 4])[1].sum() + np.array_split(u, 4)[0][1] + np.array_split(m, 2, axis=-1)[0][1, 1]",
    "np.split(u, (1, -2))[1].max() + np.array_split(v, [1])[1].sum() + sum(i * p.sum() for i, p in enumerate(np.array_split(u, 4))) + np.split(-u, indices_or_sections=2)[0][2]",
    "v.repeat(2, axis=0)[3] + m.repeat(2, axis=1)[1, 3] + m.repeat(3, axis=-2)[4, 0]",
    "np.sum(np.stack([m, -2 * m]), axis=(1, 2))[1] + np.stack([m, w[None] * m]).max((0, -1))[1] + np.mean(m, axis=(0, 1), keepdims=True)[0, 0] + m.sum(axis=())[0, 1] * 0",
    "np.linalg.norm(np.stack([m, 2 * m]), axis=(1, 2))[1] + np.any(m > 1, axis=(0, 1)) + np.sum(m, axis=(1,), keepdims=True)[1, 0] + np.var(m, axis=(1, 0))",
    "np.diff(m)[1, 1] + np.diff(m, axis=0)[0, 2] + np.diff(u, 2)[1] + np.diff(u, n=2, axis=0).sum() + np.fmod(v, 2).sum() + np.fmod(-x, w - 9)[1] + math.fmod(x, -3)",
    "(1 - c.astype(np.uint8)).sum() + (v * c.astype(np.uint8)).sum() + (v - c.astype(np.uint32)).sum() + np.broadcast_to(v, (2, 3))[1, 2]",
]  # fmt: skip


@pytest.mark.parametrize("text", NUMPY)
def test_a_spelling_of_numpy_means_what_numpy_means(text):
    assert_means(text)


def test_the_row_is_refused_where_a_number_is_beyond_the_integers():
    reward = read_of("x.astype(np.int32) + np.array([x, 1.0]).astype(int)[0]")
    assert reward.score(x=-(2.0**31) + 0.5).total == 2 * (1 - 2.0**31)
    with pytest.raises(OutsideDomain, match="is beyond every int32"):
        reward.score(x=2.0**31)


TORCH = [
    "v.dim() * x + m.dim() + v.sum().dim() + (x if v.dim() == 1 else 0.0)",
    "torch.sum(torch.square(v - w)) + torch.where(x > 0, x, -x) + torch.where(v > 0, v, w).sum() + v.square().sum()",
    "torch.clamp(x, min=0.0) + torch.clamp(v, max=1.0).sum() + v.clamp(-1, 1).sum() + torch.clip(x, 0, 1)",
    "torch.norm(v, dim=-1) + torch.linalg.norm(w) + torch.norm(v, p=1) + torch.linalg.vector_norm(v, ord=2) + v.norm()",
    "torch.exp(-torch.sum(torch.abs(v), dim=-1)) + x.abs() + v.abs().sum(dim=-1) + v.pow(2).sum() + torch.pow(x, 2)",
    "torch.dot(v, w) + torch.cross(v, w, dim=-1)[0] + torch.linalg.cross(v, w)[1] + (v * w).sum(-1) + torch.mv(m, v)[0]",
    "torch.sigmoid(x) + torch.sigmoid(v).sum() + F.relu(v).sum() + torch.relu(x) + torch.special.expit(x)",
    "torch.max(v) + torch.min(v, w).sum() + torch.maximum(v, w).sum() + torch.amax(v, dim=0) + torch.amin(v) + v.max()",
    "torch.cat((v, w)).sum() + torch.concat([v, w], dim=-1).max() + torch.stack([v, w], dim=1)[0, 1] + torch.mm(m, m.t())[0, 1]",
    "(v > 0).float().sum() + torch.any(v > 0) + torch.all(v > 0) + (v > 0).to(torch.float64).mean() + (v > 0).double().sum()",
    "torch.atan2(v, w).sum() + torch.acos(torch.clamp(x, -1, 1)) + torch.asin(torch.clamp(x, -1, 1)) + torch.atan(x) + torch.floor(x)",
    "torch.add(v, w).sum() + torch.sub(v, w).max() + torch.mul(v, 2).sum() + torch.div(v, 2).sum() + torch.neg(v).max()",
    "torch.gt(v, w).sum() + torch.ge(v, w).sum() + torch.lt(v, 0).sum() + torch.le(v, 0).sum() + torch.eq(v, v).sum() + torch.ne(v, w).sum()",
    "v.view(3, 1).sum() + u.reshape(2, 3).t()[0, 1] + torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64) @ v + v.clone().detach()[0]",
    "torch.std(v) + torch.var(v, unbiased=False) + torch.std(m, dim=1).sum() + torch.max(m, dim=1)[0].sum() + torch.max(m, 1).values[0] + x",
    "torch.min(v, dim=0)[1] + m.max(dim=0)[0][1] + m.min(dim=1)[0].sum() + torch.argmax(v) + torch.max(v, dim=0).indices + x",
    "F.mse_loss(v, w) + F.l1_loss(v, w, reduction='sum') + F.smooth_l1_loss(v, w) + F.mse_loss(v, w, reduction='none')[0]",
    "F.cosine_similarity(v, w, dim=0) + F.normalize(v, dim=0)[0] + F.softplus(x) + torch.softmax(v, dim=0)[1]",
    "torch.asinh(v).sum() + torch.acosh(v.abs() + 1).sum() + torch.arctanh(torch.tanh(v))[0] + (v[0] if torch.is_tensor(v) else 5.0)",
    "torch.bmm(torch.stack([m, -m]), torch.stack([m.t(), m.t()]))[1, 0, 1] + torch.einsum('bp,bp->b', m, m)[0] + torch.einsum('bpp->b', torch.stack([m[:, 1:], m[:, :2]]))[1]",
    "torch.stack([m, -m]).transpose(1, 2)[1, 2, 0] + torch.stack([m, 2 * m]).permute(2, 0, 1)[1, 0, 1] + torch.swapdims(m, 0, 1)[2, 0] + m.permute(1, 0)[2, 1]",
    "torch.cross(torch.stack([v, w]), torch.stack([w, w]), dim=1)[0, 1] + torch.cross(m.T, m.T.flip(1) if 0 else m.T * w[0] + 1, dim=0)[2].sum() + torch.linalg.cross(m, w[None])[1, 1] + torch.einsum('p,p', [v, w])",
    "v.masked_fill(v > 0, 0.5).sum() + torch.masked_fill(v, v > w, x)[0] + v.numel() * x + torch.numel(m) * u[0]",
    "v.unsqueeze(0).squeeze(0)[1] + v.to('cpu')[0] + torch.zeros(3, device='cpu', dtype=torch.float64) @ v + v.cpu().numpy()[0] + x",
    "torch.sort(v).values[0] + torch.sort(m, dim=1, descending=True)[0][1, 2] + torch.repeat_interleave(v, 2)[3] + torch.cross(m, m[[1, 0]], dim=-1)[0, 1]",
    "torch.hstack((m, m))[1, 4] + torch.column_stack((v, w))[2, 1] + torch.tile(v, (2,))[4] + torch.finfo(torch.float64).eps + x",
    "torch.div(v, 2, rounding_mode='floor').sum() + torch.div(v, -0.75, rounding_mode='trunc').sum() + torch.div(v, w + 9, rounding_mode=None)[1] + v.div(2, rounding_mode='floor')[0]",
    "torch.add(v, w, alpha=2).sum() + torch.sub(v, w, alpha=0.5)[1] + v.add(w, alpha=x)[0] + v.clone().sub_(w, alpha=2)[2] + v.clone().add_(1, alpha=3).sum()",
    "torch.logsumexp(v, dim=0) + torch.logsumexp(900 * m, 1)[1] + m.logsumexp(dim=-1, keepdim=True)[0, 0] + torch.logsumexp(m, dim=(0, 1)) + torch.fmod(v, -2).sum() + v.fmod(1.5)[0]",
    "torch.diff(m)[1, 1] + torch.diff(m, dim=0)[0, 2] + torch.diff(u, n=2)[1] + torch.stack([m, -m]).sum((1, 2))[1] + torch.stack([m, m]).amax(dim=[0, 2])[1] + torch.norm(m, dim=(0, 1))",
    "torch.Tensor([1.0, 2.0])[1] * x + torch.FloatTensor([0.5])[0] * x + v.to(device='cpu', dtype=torch.float64).sum()",
    "v.long().sum() + (3 * v).int()[0] + (v > 0).int().sum() + 2 * (m < 1).long()[1, 2] + v.bool().sum() + x.long() + (-2.5 * v).to(torch.int64)[1]",
    "v.expand(2, 3).sum() + v[:, None].expand(-1, 4)[2, 3] + m.expand_as(torch.stack([m, m])).sum() + x.expand(2)[1] + torch.broadcast_to(v[:1], (2, 3))[1, 2]",
    "torch.unbind(v)[1] + torch.unbind(m, -1)[2].sum() + m.unbind(1)[0][1] + torch.stack(m.unbind(dim=-1), dim=-1)[1, 2] + sum(a * b for a, b in zip(v.unbind(), torch.unbind(w, dim=-1)))",
    "torch.chunk(v, 2)[0].sum() + m.chunk(2, dim=-1)[1][0, 0] + torch.chunk(u, 4)[2][1] + len(torch.chunk(u, 4)) + torch.cat(u.chunk(chunks=2)[::-1])[0]",
    "torch.split(u, 4)[1].sum() + m.split([1, 2], dim=1)[1][1, 0] + torch.split(u, [2, 3, 1])[1].sum() + torch.split(m, 2, -1)[0][1, 1] + u.split(5)[-1][0]",
    "torch.tensor_split(u, 4)[0][1] + torch.tensor_split(u, (1, 4))[1].sum() + m.tensor_split(2, dim=1)[1][0, 0]",
    "v.repeat(2, 1)[1, 2] + v.repeat(1, 2, 1)[0, 1, 2] + m.repeat(1, 2, 1)[0, 2, 1] + m.repeat((1, 2, 1))[0, 3, 1] + torch.tensor([1.0, 2.0]).repeat(2, 1)[1, 1] * x",
    "torch.abs(v).repeat(2)[4] + m.repeat(2, 1)[2, 1] + m.repeat((1, 2))[1, 4]",
    "v.unsqueeze(0).repeat(2, 1)[1, 1] + m.repeat(2, 1)[2, 1] + v.tile(2)[4] + v.tile((2, 1))[1, 2] + m.tile(2, 2)[3, 5] + m.tile(2)[1, 4]",
    "torch.from_numpy(GOAL)[1] * x + torch.from_numpy(GOAL) @ v + torch.Tensor(TABLE)[1, 1] * x + torch.DoubleTensor([[1, 2], [3, 4]])[1, 0] * x + torch.FloatTensor((1, 2))[1] * x",
    "(torch.Tensor([True, False]) + torch.Tensor([True, True]))[0] * x + torch.from_numpy(np.array([1.0, 2.0]))[1] * x",
    "torch.as_tensor([x, 1.0]).sum() + m.contiguous().flatten()[1] + v.size()[0] * x + m.size(1) * x + (v > 0).type(torch.float64).sum() + x.item()",
]  # fmt: skip


@pytest.mark.parametrize("text", TORCH)
def test_a_spelling_of_torch_means_what_torch_means(text):
    torch = pytest.importorskip("torch")

    def convert(value):
        array = np.asarray(value)
        return torch.as_tensor(array) if array.dtype != float else torch.as_tensor(array, dtype=torch.float64)

    assert_means(text, HEADER + "import torch\nimport torch.nn.functional as F\n", convert)


JAX = [
    "jnp.sum(jnp.square(v - w)) + jnp.where(v > 0, v, w).sum() + jnp.clip(x, -1.0, 1.0) + jnp.clip(v, min=0.0).sum()",
    "jnp.linalg.norm(v) + jnp.linalg.norm(v - w, ord=1) + jnp.exp(-jnp.abs(x)) + jnp.dot(v, w) + v @ w + jnp.cross(v, w)[0]",
    "jnp.minimum(v, 0).sum() + jnp.maximum(x, 1.0) + jnp.tanh(v).mean() + jnp.any(v > 0) + jnp.all(v > 0) + jnp.max(v)",
    "jnp.concatenate([v, w]).sum() + jnp.stack([v, w])[1, 1] + jnp.array([x, 1.0]).sum() + jnp.sum(m, axis=-1)[1]",
    "jax.nn.sigmoid(x) + jax.nn.relu(v).sum() + jnp.arctan2(x, 1.0) + jnp.sign(x) + jnp.power(v, 3).sum() + jnp.float32(0.5)",
    "jnp.einsum('pq,q->p', m, v)[0] + jnp.cross(m, v)[1, 0] + jnp.swapaxes(m, 0, 1)[2, 1] + (jnp.stack([m, m]) @ v)[0, 1] + jnp.einsum('p,p', v, w)",
    "jax.nn.logsumexp(v) + jax.nn.logsumexp(m, axis=1)[1] + jnp.fmod(v, 2).sum() + jnp.diff(m, axis=0)[0, 1] + jnp.sum(jnp.stack([m, m]), (0, 2))[1]",
    "jnp.logical_or(v > 0, w > 0).sum() + jnp.log(1 + jnp.square(x)) + jnp.round(v).sum() + (v > 0).astype(jnp.float32).sum()",
]


@pytest.mark.parametrize("text", JAX)
def test_a_spelling_of_jax_means_what_jax_means(text):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        assert_means(text, HEADER + "import jax\nimport jax.numpy as jnp\n", jax.numpy.asarray)


def test_a_tensor_of_a_size_is_refused():
    message = refusal("torch.Tensor(3)[0] + x", HEADER + "import torch\n")
    assert "this makes a tensor of a size" in message
    assert "torch.tensor([x])" in message


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors")
def test_a_cross_product_of_vectors_of_length_2_is_a_number():
    assert_means("np.cross(v[:2], w[1:]) + np.cross(m[:, :2], v[:2]).sum()")


@pytest.mark.filterwarnings("ignore:Using torch.cross without")
def test_a_cross_product_of_torch_is_along_the_first_axis_of_size_3():
    torch = pytest.importorskip("torch")
    header = HEADER + "import torch\n"
    assert_means("torch.cross(m.T, m.T * 2 + 1)[2, 0] + torch.cross(m, m + w)[1, 0]", header, torch.as_tensor)
    square = "torch.cross(torch.stack([v, w, v]), torch.stack([w, v, w]))[0, 1]"
    assert "several axes have the size 3" in refusal(square, header)


def test_every_spelling_has_a_test_of_its_meaning():
    written = " ".join([*NUMPY, *TORCH, *JAX])
    plain = {name.rpartition(".")[2] for name in SPELLINGS}
    plain.remove("cuda")  # which few machines have
    untested = [name for name in sorted(plain) if not re.search(rf"\b{name}\(", written)]
    assert untested == [], f"call np.{untested[0]}(...) in a line of NUMPY above, or torch's or JAX's in theirs"


@pytest.mark.parametrize("at", [-800.0, -40.0, 0.0, 1.0, 800.0])
def test_a_sigmoid_never_overflows(at):
    torch = pytest.importorskip("torch")
    reward = read_of("torch.sigmoid(x)", "import torch\n")
    wanted = float(torch.sigmoid(torch.tensor(at, dtype=torch.float64)))
    assert reward.score(x=at).total == pytest.approx(wanted, rel=1e-14, abs=5e-324)


def test_a_function_is_known_by_its_module_and_name():
    assert find_spelling(np.linalg.norm) == "norm"
    assert find_spelling(np.random.power) is None
    assert find_spelling(np.random.default_rng) is None


REFUSED = {
    "a method": ("v.std()", "`.std()` cannot be read", "divide by different counts"),
    "an einsum of data": ("np.einsum(POSE, v, w)", "must be a constant string", "np.einsum('ij,ij->i', a, b)"),
    "an einsum of one array too few": ("np.einsum('p,p->', v)", "is for 2 arrays, and here are 1", ""),
    "an einsum of other axes": ("np.einsum('pq->p', v)", "does not fit an array of 1 axis", ""),
    "an einsum of other sizes": ("np.einsum('p,p->', v, u)", "has the sizes 3 and 6", ""),
    "an einsum of nothing": ("np.einsum('p->q', v)", "the indices 'p->q' cannot be read", ""),
    "an einsum of bools": ("np.einsum('p,p->', c, v > 0) + x", "a bool for a product of arrays of bools", "1.0 * a"),
    "a product of bools": ("np.dot(c, v > 0) + x", "a bool for a product of arrays of bools", "1.0 * a"),
    "a product of stacks": ("np.dot(v, np.stack([m.T, m.T]))[0, 0]", "more than two axes", "x @ y"),
    "stacks that do not fit": (
        "np.sum(np.stack([m, m]) @ np.stack([m.T, m.T, m.T]))",
        "stacks of 2 and 3 matrices do not fit",
        "",
    ),
    "a matrix turned or not": ("m.transpose(0, 1)[1, 0]", "turned around in PyTorch", "m.T"),
    "an axis twice": ("np.sum(np.transpose(m, (0, 0)))", "is not an order of the axes", ""),
    "an unknown function": (
        "np.linalg.svd(m)",
        "`np.linalg.svd` of numpy cannot be read",
        "docs/reference/language.md lists",
    ),
    "a function that is not read": ("np.exp2(x)", "`np.exp2` of numpy cannot be read.\n", "before scoring"),
    "a misspelt function": ("np.hypott(x, x)", "'np.hypott' does not exist. Did you mean 'hypot'?", "dir(np)"),
    "a method that is close to others": ("v.half()", "`.half()` cannot be read.\n", "before scoring"),
    "an expansion that does not fit": (
        "v.expand(2, 4).sum()",
        "the shapes (3,) and (2, 4) do not fit",
        "row of the other",
    ),
    "an expansion to what is not known": ("v.expand(-1, 3).sum()", "(3,) cannot be expanded to (-1, 3)", ""),
    "a method of two meanings": ("v.repeat(2).sum()", "repeats depends on the library", "np.tile in PyTorch"),
    "a count and an axis": ("m.repeat(2, 1)[1, 1]", "repeats depends on the library", "np.tile in PyTorch"),
    "a count for each entry": ("v.repeat((1, 2, 3))[1]", "repeats depends on the library", "np.tile in PyTorch"),
    "a method of two meanings next to NumPy": (
        "np.abs(v).repeat(2)[1] + v.unsqueeze(0)[0, 0]",
        "depends on",
        "np.tile",
    ),
    "a count for one axis of two": ("m.clamp(0, 1).repeat(2)[1]", "a count for each of 2 axes", "x.repeat(1, 2)"),
    "unequal pieces": ("np.split(u, 4)[0][0]", "6 entries cannot be split into 4 pieces", "np.array_split"),
    "no pieces": ("u.chunk(0)[0][0]", "cannot be taken apart by 0", "at least 1"),
    "pieces of data": ("np.split(u, int(x))[0][0]", "a constant integer is needed here", ""),
    "pieces that are too short": ("u.split([2, 3])[0][0]", "[2, 3] do not make up 6 entries", "their starts"),
    "a short integer": ("np.sum(v.astype(np.int8))", "beyond every integer of the dtype int8", "int64"),
    "an integer without a sign": (
        "np.sum(v.astype(np.uint32))",
        "beyond every integer of the dtype uint32",
        "np.trunc",
    ),
    "integers that wrap": (
        "np.sum(c.astype(np.uint8) - (v > 0).astype(np.uint8))",
        "dtype uint8 are subtracted",
        "int or float",
    ),
    "a sum that wraps": ("c.astype(np.uint32).sum() - 2 + x * 0", "dtype uint32 are subtracted", "int or float"),
    "a sign that wraps": ("np.sum(-(c.astype(np.uint8)))", "dtype uint8 are subtracted", "int or float"),
    "a misspelt method": ("v.clp(0, 1)", "Did you mean 'clip'?", "before scoring"),
    "a method that is not read": ("v.setflags(1)", "`.setflags()` cannot be read.\n", "before scoring"),
    "an unknown keyword": ("np.sum(v, where=v > 0)", "cannot be read with where=", "axis"),
    "too many arguments": ("np.exp(v, w)", "takes 1 argument here", ""),
    "too few arguments": ("np.where(v > 0)", "lists positions, and how many there are depends on the row", "v[v > 0]"),
    "a clip without bounds": ("np.clip(x, None, None)", "at least one bound is needed", "np.clip(x, 0.0, 1.0)"),
    "an integer dtype": ("np.sum(v, dtype=int)", "the dtype int cannot be read", "np.floor"),
    "a narrow dtype": ("np.sum(v.astype(np.float16))", "the dtype float16 cannot be read", "every number is a float"),
    "another norm": ("np.linalg.norm(v, ord=3)", "this norm cannot be read", "ord=1, 2 or np.inf"),
    "a norm of a matrix": ("np.linalg.norm(m, ord=2)", "this norm cannot be read", "for a vector"),
    "a cross product of others": ("np.cross(u, u)[0]", "vectors of length 2 or 3, and these are (6,) and (6,)", ""),
    "an inner product of matrices": ("np.sum(np.inner(m, m))", "these have the shapes (2, 3) and (2, 3)", "a @ b"),
    "differences of one entry": ("np.sum(np.diff(v[:1]))", "there is no pair of entries", "needs more entries"),
    "an argument to write to": ("np.add(x, 1.0, out=x)", "cannot be read with out=", "x = np.add(x, y)"),
    "a keyword of another function": ("np.add(x, 1.0, casting='no')", "with casting=", "It takes other"),
    "keepdims of data": ("np.sum(m, axis=0, keepdims=x > 0)[0]", "keepdims= must be a constant", "keepdims=True"),
    "an array of arrays": ("np.sum(np.full((2, 2), v))", "filled with one value", "np.stack"),
    "an axis that is data": ("np.sum(m, axis=x)", "an axis must be a constant integer", "one axis at a time"),
    "a norm over two axes": (
        "np.linalg.norm(np.stack([m, m]), 2, axis=(1, 2))[0]",
        "this norm cannot be read",
        "ord=1",
    ),
    "a method of a tuple": ("(v[0], x).sum()", "a tuple of 2 has no `.sum()`", "np.array"),
    "a method that is not there": ("v.wobble()", "`.wobble()` cannot be read", "docs/reference/language.md lists"),
    "decimals": ("np.round(x, 2)", "takes 1 argument here", ""),
    "a string": ("np.exp('a') * x", "a number is needed here", ""),
    "float of a word": ("float('much') * x", "'much' is not a number", ""),
    "float of an array": ("float(v)", "a number is needed here", "Reduce it"),
    "bool of an array": ("bool(v)", "a condition is needed here", "any(v > 0)"),
    "joined numbers": ("np.sum(np.concatenate([x, v]))", "one of these is a number", "np.array([a, b])"),
    "shapes that do not join": (
        "np.sum(np.concatenate([v, m]))",
        "the shapes (3,) and (2, 3) cannot be joined along axis 0",
        "",
    ),
    "shapes that do not stack": ("np.sum(np.stack([v, u]))", "differ in shape: (3,) and (6,)", ""),
    "an array for a function of a number": ("math.tan(v)", "takes one number at a time", "np.tan(v)"),
    "places without values": ("np.interp(x, [0.0, 1.0], [2.0])", "2 points for 1 values", "same number of both"),
}


@pytest.mark.parametrize(("text", "what", "advice"), REFUSED.values(), ids=REFUSED)
def test_a_spelling_that_is_not_read_is_refused_with_what_to_write(text, what, advice):
    message = refusal(text)
    assert what in message
    assert advice in message
    assert "^" in message


@pytest.mark.parametrize("text", ["np.sum(v - w)", "v @ np.array([1.0, 0.0, 1.0])", "np.linalg.norm(v[:2])"])
def test_the_row_is_refused_where_a_plain_sum_would_be_infinite(text):
    reward = read_of(text)
    with pytest.raises(ArithmeticError):
        reward.score(**{name: [1e308, 1e308, 1e308] if name == "v" else [-1e308] * 3 for name in reward.fields})
