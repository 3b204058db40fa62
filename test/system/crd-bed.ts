/** An API server with the chart's CRDs, and requests for the tests of the CRDs. */
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { openKube } from '../../lib/kube/client.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { apiVersionOf, collectionPath } from '../../lib/kube/resources.ts';
import { startApiServer } from '../../lib/kube/testing.ts';
import type { KubeClient, Resource } from '../../lib/kube/types.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const crdFolder = join(import.meta.dirname, '../../charts/isthmus/crds');

export interface CrdBed {
  readonly kube: KubeClient;
  /** Creates an object as a dry run; returns `accepted` or the message of the refusal. */
  readonly tryCreate: (resource: Resource, name: string, spec: unknown) => Promise<string>;
  close(): Promise<void>;
}

/** Starts the API server; resolves when it serves these kinds. */
export async function openCrdBed(served: readonly Resource[]): Promise<CrdBed> {
  const server = await startApiServer();
  const kube = openKube({ kubeconfig: server.kubeconfig, userAgent: 'isthmus-test' });
  const close = async (): Promise<void> => {
    await kube.close();
    await server.stop();
  };
  try {
    for (const file of await readdir(crdFolder))
      await kube.request(
        'POST',
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
        parse(await readFile(join(crdFolder, file), 'utf8')),
      );
    await untilServed(kube, served);
  } catch (error) {
    await close();
    throw error;
  }
  return { kube, tryCreate: (resource, name, spec) => tryCreate(kube, resource, name, spec), close };
}

async function untilServed(kube: KubeClient, resources: readonly Resource[]): Promise<void> {
  for (const resource of resources) await eventually(`${resource.plural} served`, () => kube.list(resource));
}

export function object(resource: Resource, name: string, spec: unknown): object {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: { name }, spec };
}

async function tryCreate(kube: KubeClient, resource: Resource, name: string, spec: unknown): Promise<string> {
  try {
    const path = `${collectionPath(resource)}?dryRun=All&fieldValidation=Strict`;
    await kube.request('POST', path, object(resource, name, spec));
    return 'accepted';
  } catch (error) {
    if (error instanceof KubeApiError) return error.message;
    throw error;
  }
}
