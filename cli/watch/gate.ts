/** Reads the VpcDnses, by which pods of custom VPCs reach DNS and the API server. */
import { conditionsOf } from '../../lib/api/conditions.ts';
import { fieldsOf, textOf } from '../../lib/kube/fields.ts';
import { vpcDnses } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject } from '../../lib/kube/types.ts';
import { apiService, dnsService, gateTargets } from '../../lib/services/gate.ts';
import { type Service, serviceKey } from '../../lib/services/service.ts';
import { vipId } from '../../lib/services/vips.ts';
import type { ValidatedDns } from '../model/service-reading.ts';

interface Api {
  readonly client: Pick<KubeClient, 'list'>;
  readonly signal: AbortSignal;
}

/**
 * The VpcDns by which clients in a VPC reach the Service; undefined if there is none.
 * @throws KubeUnreachable, KubeApiError, or the signal's reason
 */
export async function readGate(
  { client, signal }: Api,
  service: Service,
  vpc: string,
): Promise<ValidatedDns | undefined> {
  if (![dnsService, apiService].some((name) => serviceKey(name) === serviceKey(service))) return undefined;
  return validatedDnses(await client.list(vpcDnses, { signal }), [service]).find((one) => one.vpc === vpc);
}

/** The controller validates one VpcDns of a VPC. `services` has DNS and the API server, and may have others. */
export function validatedDnses(raws: readonly RawObject[], services: readonly Service[]): readonly ValidatedDns[] {
  const [dns, api] = [dnsService, apiService].map((name) =>
    services.find((one) => serviceKey(one) === serviceKey(name)),
  );
  const vips = new Set(
    gateTargets(dns, api).map(({ protocol, address, port }) => vipId({ protocol, address, port: { port } })),
  );
  return raws
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .filter((raw) =>
      conditionsOf(fieldsOf(raw['status'])).some(({ type, status }) => type === 'Validated' && status === 'True'),
    )
    .map((raw) => ({ name: raw.metadata.name, vpc: textOf(fieldsOf(raw['spec'])['vpc']), vips }));
}
