/**
 * Decides the VPC of each Service, and which of two Services of one VPC has a virtual address that both want. In: changed Services,
 * EndpointSlices and ports. Out: verdicts, which `plan/service/service.ts` reads. A SwitchLBRule or RouterLBRule counts as a Service, with the key of the
 * headless Service that it has. Rule: a ClusterIP is that of its Service; else the older one has the address, of equally old ones the
 * first by name, as on nodes (`lib/services/claims.ts`). A change costs what it touches: the Services of that object, and those that want
 * the same addresses.
 */
import { addTo, allOf, countOf, removeFrom, type Few } from '../../../lib/desired/few.ts';
import { byRight } from '../../../lib/services/claims.ts';
import { serviceKey, type Service } from '../../../lib/services/service.ts';
import { type ServiceVip, vipId, vipsOf } from '../../../lib/services/vips.ts';
import { defaultVpc } from '../../../lib/api/names.ts';
import type { Change } from '../../model/change.ts';
import type { ServiceVerdict } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { text } from '../fingerprint.ts';
import { dnsWithVip, vpcsOfDnsChange } from '../vpc-dns/verdict.ts';
import { placeOfService, type Place } from './endpoint-vpcs.ts';
import { frontendName, frontendOf, servingRuleAt } from './frontends.ts';
import { placeOfRule } from './rule-place.ts';
import { RuleMarks } from './rule-marks.ts';

export interface ServiceVerdictsOptions {
  readonly view: View;
  readonly onChange: (service: string, before: ServiceVerdict | undefined, after: ServiceVerdict | undefined) => void;
}

/** A virtual address in a VPC. */
interface Claim {
  /** `<vpc> <vipId>`. */
  readonly key: string;
  readonly vip: ServiceVip;
}

export class ServiceVerdicts {
  readonly verdicts = new Map<string, ServiceVerdict>();
  readonly #options: ServiceVerdictsOptions;
  #due = new Set<string>();
  readonly #claims = new Map<string, readonly Claim[]>();
  /** Services by the key of a claim. */
  readonly #claimants = new Map<string, Few>();
  /** The Service that has the address, of claims with several claimants. */
  readonly #holders = new Map<string, string>();
  /** Services by VPC, where it is not the default one. */
  readonly #byVpc = new Map<string, Few>();
  readonly #ruleMarks: RuleMarks;

  constructor(options: ServiceVerdictsOptions) {
    this.#options = options;
    this.#ruleMarks = new RuleMarks(options.view);
  }

  /** Marks the Services whose verdicts read the changed value. */
  changed(change: Change): void {
    for (const key of this.#ruleMarks.concerned(change)) this.#due.add(key);
    for (const vpc of vpcsOfDnsChange(change, this.#options.view)) this.#markVpc(vpc);
    if (change.kind === 'services') this.#due.add(change.name);
    else if (change.kind === 'endpointSlices') {
      for (const slice of [change.before, change.after]) if (slice !== undefined) this.#mark(slice.service);
    } else if (change.kind === 'ports' && change.name.startsWith('pod/')) this.#markPod(change.name);
    else if (change.kind === 'vpcs' && change.before?.isDeleting !== change.after?.isDeleting)
      this.#markVpc(change.name);
    else if (change.kind === 'verdicts') {
      const [was, is] = [change.before?.vpc, change.after?.vpc];
      for (const vpc of new Set([was, is])) if (vpc !== undefined) this.#markVpc(vpc);
      if (was !== is) for (const key of this.#options.view.keysIn(change.name)) this.#markPod(key);
    }
  }

  settle(): void {
    if (this.#due.size === 0) return;
    const due = this.#due;
    this.#due = new Set();
    const places = new Map<string, Place>();
    /** Claims of these Services, before and after the changes. */
    const touched = new Set<Claim['key']>();
    for (const service of due) {
      const object = frontendOf(this.#options.view, service);
      const place = object?.isServed === true ? this.#placeOf(service, object) : undefined;
      if (place === undefined) this.#ruleMarks.read(service, []);
      else places.set(service, place);
      this.#claim(service, place === undefined || object === undefined ? [] : this.#claimsOf(object, place), touched);
      this.#settleIn(service, place);
    }
    const affected = new Set(due);
    for (const claim of touched) {
      const isContested = countOf(this.#claimants.get(claim)) > 1;
      if (isContested) this.#holders.set(claim, this.#holderOf(claim));
      if (isContested || this.#holders.has(claim))
        for (const service of allOf(this.#claimants.get(claim))) affected.add(service);
      if (!isContested) this.#holders.delete(claim);
    }
    for (const service of affected) this.#become(service, places.get(service) ?? this.#keptPlace(service, due));
  }

  #placeOf(key: string, service: Service): Place {
    const { view } = this.#options;
    const rule = servingRuleAt(view, key);
    if (rule === undefined) return placeOfService(view, key, service);
    const { place, ports } = placeOfRule(view, rule, service);
    this.#ruleMarks.read(key, ports);
    return place;
  }

  #mark(service: string): void {
    if (frontendOf(this.#options.view, service) !== undefined) this.#due.add(service);
  }

  #markPod(key: string): void {
    const { view } = this.#options;
    if (!key.startsWith('pod/')) return;
    for (const slice of view.indexes.slicesByPod.of(key.slice('pod/'.length)))
      this.#mark(view.endpointSlices.get(slice)?.service ?? '');
  }

  #markVpc(vpc: string): void {
    for (const service of allOf(this.#byVpc.get(vpc))) this.#mark(service);
  }

  /** The place of a Service of which only the addresses are decided again. */
  #keptPlace(service: string, due: ReadonlySet<string>): Place | undefined {
    return due.has(service) ? undefined : this.verdicts.get(service);
  }

  #settleIn(service: string, place: Place | undefined): void {
    const before = this.verdicts.get(service)?.vpc ?? defaultVpc;
    const after = place?.vpc ?? defaultVpc;
    if (before === after) return;
    if (before !== defaultVpc) removeFrom(this.#byVpc, before, service);
    if (after !== defaultVpc) addTo(this.#byVpc, after, service);
  }

  #claimsOf(object: Service, { vpc, refusal }: Place): readonly Claim[] {
    if (refusal !== undefined) return [];
    // Ports of OvnEips are claimed in `settle/external`.
    if (servingRuleAt(this.#options.view, serviceKey(object))?.kind === 'RouterLBRule') return [];
    return vipsOf(object, this.#options.view.capabilities).map((vip) => ({ key: `${vpc} ${vipId(vip)}`, vip }));
  }

  #claim(service: string, claims: readonly Claim[], touched: Set<Claim['key']>): void {
    const before = this.#claims.get(service) ?? [];
    for (const { key } of [...before, ...claims]) touched.add(key);
    for (const { key } of before) removeFrom(this.#claimants, key, service);
    for (const { key } of claims) addTo(this.#claimants, key, service);
    if (claims.length === 0) this.#claims.delete(service);
    else this.#claims.set(service, claims);
  }

  #holderOf(claim: string): string {
    const { view } = this.#options;
    const claimants = [...allOf(this.#claimants.get(claim))].map((service) => ({
      service,
      createdMs: frontendOf(view, service)?.createdMs ?? Infinity,
      isClusterIp:
        view.services.get(service)?.isServed === true &&
        this.#claims.get(service)?.some(({ key, vip }) => key === claim && vip.isInternal) === true,
    }));
    return claimants.sort(byRight)[0]?.service ?? '';
  }

  #become(service: string, place: Place | undefined): void {
    const before = this.verdicts.get(service);
    const after = place && { ...place, takenVips: this.#takenVips(service, place.vpc) };
    if (before === after || (before !== undefined && text(before) === text(after))) return;
    if (after === undefined) this.verdicts.delete(service);
    else this.verdicts.set(service, after);
    this.#options.onChange(service, before, after);
  }

  #takenVips(service: string, vpc: string): Readonly<Record<string, string>> {
    const { view } = this.#options;
    const takenVips: Record<string, string> = {};
    for (const { key, vip } of this.#claims.get(service) ?? []) {
      const holder = this.#holders.get(key);
      const dns = dnsWithVip(view, vpc, vipId(vip));
      if (dns !== undefined) takenVips[vipId(vip)] = `VpcDns ${dns}`;
      else if (holder !== undefined && holder !== service) takenVips[vipId(vip)] = frontendName(view, holder);
    }
    return takenVips;
  }
}
