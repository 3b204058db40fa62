import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findApplier } from './hook.ts';

test('who applies hooks as if they were objects is found, and who runs them is not', () => {
  assert.equal(findApplier(['helm', 'kube-controller-manager']), undefined);
  assert.equal(findApplier(['helm-controller', 'k3s']), undefined);
  assert.equal(findApplier(['kube-controller-manager', 'kubectl-client-side-apply']), 'kubectl-client-side-apply');
  assert.equal(findApplier(['kubectl']), 'kubectl');
  assert.equal(findApplier(['argocd-controller']), 'argocd-controller');
});
