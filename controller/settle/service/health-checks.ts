/**
 * Which Subnets need an address as the source of health checks, and which frontends have backends at a port. In: verdicts on
 * SwitchLBRules. Out: indexes, and the Subnets whose need has changed. Rule: until the first verdicts are known, no address of a former
 * process is released.
 */
import { healthCheckPortName } from '../../../lib/api/names.ts';
import { addTo, removeFrom, type Few } from '../../../lib/desired/few.ts';
import type { ServiceVerdict } from '../../model/settled.ts';
import type { HealthCheckIndex, View } from '../../model/view.ts';

export class HealthChecks implements HealthCheckIndex {
  readonly bySubnet = new Map<string, Few>();
  readonly byPort = new Map<string, Few>();
  readonly #view: Pick<View, 'ips'>;
  #due = new Set<string>();
  #isComplete = false;

  constructor(view: Pick<View, 'ips'>) {
    this.#view = view;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  verdictChanged(frontend: string, before: ServiceVerdict | undefined, after: ServiceVerdict | undefined): void {
    for (const { port, subnet } of Object.values(before?.checked ?? {})) {
      removeFrom(this.byPort, port, frontend);
      removeFrom(this.bySubnet, subnet, frontend);
      this.#due.add(subnet);
    }
    for (const { port, subnet } of Object.values(after?.checked ?? {})) {
      addTo(this.byPort, port, frontend);
      addTo(this.bySubnet, subnet, frontend);
      this.#due.add(subnet);
    }
  }

  /** Subnets whose need may have changed; the first time, those with an address of a former process are among them. */
  take(): ReadonlySet<string> {
    const due = this.#due;
    this.#due = new Set();
    if (!this.#isComplete)
      for (const { name, spec } of this.#view.ips.values())
        if (name === healthCheckPortName(spec.subnet)) due.add(spec.subnet);
    this.#isComplete = true;
    return due;
  }
}
