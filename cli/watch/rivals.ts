/** Reads the objects that may have a virtual address which a Service or SwitchLBRule wants. Only for those that share one, their endpoints are read. */
import { annotation } from '../../lib/api/names.ts';
import { endpointSlices, keyOf, pods, services, switchLbRules, vpcDnses } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Resource } from '../../lib/kube/types.ts';
import { parseEndpointSlice, parseService } from '../../lib/services/parse.ts';
import { type Service, serviceKey } from '../../lib/services/service.ts';
import { isProblem, readRule } from '../../lib/services/switch-lb-rule.ts';
import { vipId, vipsOf } from '../../lib/services/vips.ts';
import type { PlacedService, Rivals, ServiceSettings } from '../model/service-reading.ts';
import { validatedDnses } from './gate.ts';
import { parsePod, parseRule } from './service-objects.ts';

interface Api {
  readonly client: Pick<KubeClient, 'list'>;
  readonly signal: AbortSignal;
}

/** @throws KubeUnreachable, KubeApiError, or the signal's reason */
export async function readRivals(api: Api, wanted: Service, settings: ServiceSettings): Promise<Rivals> {
  const { client, signal } = api;
  const list = (resource: Resource): Promise<readonly RawObject[]> => client.list(resource, { signal });
  const [rawServices, rawRules, rawDnses] = await Promise.all([list(services), list(switchLbRules), list(vpcDnses)]);
  const allowed = { externalIps: settings.allowsExternalIps === true };
  const vips = new Set(vipsOf(wanted, allowed).map(vipId));
  const isRival = (service: Service): boolean =>
    serviceKey(service) !== serviceKey(wanted) && vipsOf(service, allowed).some((vip) => vips.has(vipId(vip)));
  const all = rawServices.map(parseService);
  const rules = rawRules.filter(isKept).map(parseRule);
  return {
    services: await placesOf(api, all.filter(isRival)),
    rules: rules.filter(({ object }) => {
      const read = readRule(object);
      return !isProblem(read) && isRival(read.service);
    }),
    vpcDnses: validatedDnses(rawDnses, all),
  };
}

function isKept({ metadata }: RawObject): boolean {
  return metadata.deletionTimestamp === undefined;
}

/** One namespace after the other, because an address may be wanted in any number of them. */
async function placesOf({ client, signal }: Api, rivals: readonly Service[]): Promise<readonly PlacedService[]> {
  const placed: PlacedService[] = [];
  for (const [namespace, there] of Map.groupBy(rivals, (one) => one.namespace)) {
    // A Service that names its VPC is in that one, whatever its endpoints are.
    const isNamed = there.every(({ annotations }) => (annotations[annotation.vpc] ?? '') !== '');
    const [rawSlices, rawPods] = isNamed
      ? [[], []]
      : await Promise.all([
          client.list(endpointSlices, { namespace, signal }),
          client.list(pods, { namespace, signal }),
        ]);
    const slices = Map.groupBy(rawSlices.map(parseEndpointSlice), ({ service }) => service);
    const ofPods = new Map(rawPods.map((one) => [keyOf(one.metadata), parsePod(one)]));
    for (const service of there) placed.push({ service, slices: slices.get(serviceKey(service)) ?? [], pods: ofPods });
  }
  return placed;
}
