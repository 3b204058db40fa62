import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findApplier } from './hook.ts';

test('a field manager that applies hooks as plain objects is found; one that runs hooks is not', () => {
  assert.equal(findApplier(['helm', 'kube-controller-manager']), undefined);
  assert.equal(findApplier(['helm-controller', 'k3s']), undefined);
  assert.equal(findApplier(['kube-controller-manager', 'kubectl-client-side-apply']), 'kubectl-client-side-apply');
  assert.equal(findApplier(['kubectl']), 'kubectl');
  assert.equal(findApplier(['argocd-controller']), 'argocd-controller');
});
