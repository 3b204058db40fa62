/** The chains that are added to the table of Services while it is in use: one for each number of endpoints, and one for each timeout of session affinity. */
import {
  addressRegisters,
  clearAddress,
  type Expression,
  isFamily,
  isTransport,
  loadAddress,
  loadDestinationPort,
  loadOriginalAddress,
  loadOriginalPort,
  loadRandom,
  loadTransport,
  lookUp,
  type NewChain,
  translateDestination,
  updateMap,
} from '../../lib/netlink/nftables.ts';
import { affinityMaps, parseLearnChain, parsePickChain, type PickChain, slotMap } from '../model/service-table.ts';

const families = [4, 6] as const;
/** TCP, UDP, SCTP */
const transports = [6, 17, 132] as const;

/** Returns undefined for a name that is not of such a chain. */
export function chainOf(name: string): NewChain | undefined {
  const pick = parsePickChain(name);
  if (pick !== undefined) return { name, rules: pickRules(pick) };
  const seconds = parseLearnChain(name);
  return seconds === undefined ? undefined : { name, rules: learnRules(seconds) };
}

/** The rules of the sample in plan/services/skeleton.ts. */
function pickRules({ family, list, isNodePort, isSticky, width }: PickChain): readonly (readonly Expression[])[] {
  const size = addressRegisters[family];
  const translated = translateDestination(family, 0, size);
  const address = [loadAddress(family, 'destination', 0), ...(isNodePort ? [clearAddress(family, 0)] : [])];
  const pick = (modulus: number): readonly Expression[] => [
    ...isFamily(family),
    ...address,
    loadTransport(size),
    loadDestinationPort(size + 1),
    loadRandom(modulus, size + 2),
    lookUp(`${slotMap[list]}${family}`, 0, 0),
    translated,
  ];
  const known = [
    ...isFamily(family),
    loadAddress(family, 'source', 0),
    loadAddress(family, 'destination', size),
    loadTransport(2 * size),
    loadDestinationPort(2 * size + 1),
    lookUp(affinityMaps[family], 0, 0),
    translated,
  ];
  return [...(isSticky ? [known] : []), pick(width), pick(1)];
}

/** Records the client's endpoint, or restarts the timeout of the record. */
function learnRules(seconds: number): readonly (readonly Expression[])[] {
  return transports.flatMap((transport) =>
    families.map((family) => {
      const size = addressRegisters[family];
      const value = 2 * size + 2;
      return [
        ...isTransport(transport),
        ...isFamily(family),
        loadOriginalAddress(family, 'source', 0),
        loadOriginalAddress(family, 'destination', size),
        loadTransport(2 * size),
        loadOriginalPort(2 * size + 1),
        loadAddress(family, 'destination', value),
        loadDestinationPort(value + size),
        updateMap(affinityMaps[family], 0, value, seconds),
      ];
    }),
  );
}
