/** The clusters of a test with pods, and what it is to do. */
import type { Exec } from '../../lib/kube/exec.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { TestRun } from '../plan/traffic/manifests.ts';
import type { TestPlan } from '../plan/traffic/networks.ts';

export type TestClient = Pick<KubeClient, 'create' | 'get' | 'list' | 'delete' | 'request'>;

export interface TestSite {
  /** The cluster's name among the members. */
  readonly cluster: string;
  readonly client: TestClient;
  readonly exec: Exec;
  readonly run: TestRun;
}

export interface TrafficTest {
  readonly sites: readonly TestSite[];
  readonly clusters: readonly Snapshot[];
  readonly plan: TestPlan;
  readonly withServices: boolean;
  /** Timeout for the pods, and for imports. */
  readonly timeoutMs: number;
  /** Between two attempts. */
  readonly pauseMs: number;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

/** @throws Error if there is none: a defect */
export function siteOf({ sites }: Pick<TrafficTest, 'sites'>, cluster: string): TestSite {
  const found = sites.find((site) => site.cluster === cluster);
  if (found === undefined) throw new Error(`no site for ${cluster}`);
  return found;
}
