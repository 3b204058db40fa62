/** The CNI configuration list of the chart and the versions that plugins of this node support → the list for this node. Pure. */

export interface Conflist {
  readonly cniVersion: string;
  readonly cniVersions?: readonly string[] | undefined;
  readonly plugins: readonly { readonly type: string; readonly [key: string]: unknown }[];
  readonly [key: string]: unknown;
}

/** Answer of a plugin to VERSION: its versions, or why there is no answer. */
export type Support = readonly string[] | { readonly problem: string };

export interface PlannedConflist {
  readonly list: Conflist;
  /** What will not work or is not offered, and why. */
  readonly warnings: readonly string[];
}

/**
 * A runtime uses the highest version of `cniVersions` that it knows, without asking the plugins, and a plugin that does not know that
 * version refuses every pod. So only versions that all plugins of the chain support are offered beside `cniVersion`.
 */
export function planConflist(list: Conflist, support: ReadonlyMap<string, Support>): PlannedConflist {
  const types = [...new Set(list.plugins.map(({ type }) => type))];
  const knows = (type: string, version: string): boolean => {
    const versions = support.get(type);
    return versions !== undefined && !('problem' in versions) && versions.includes(version);
  };
  const silent = types.flatMap((type) => {
    const answer = support.get(type);
    return answer !== undefined && 'problem' in answer ? [`plugin ${type}: ${answer.problem}`] : [];
  });
  const offered = list.cniVersions?.filter(
    (version) => version === list.cniVersion || types.every((type) => knows(type, version)),
  );
  const heldBack = list.cniVersions?.filter((version) => !offered?.includes(version)) ?? [];
  const { cniVersions: _, ...rest } = list;
  const hasChoice = offered?.some((version) => version !== list.cniVersion) === true;
  return {
    list: hasChoice ? { ...rest, cniVersions: offered } : rest,
    warnings: [
      ...silent,
      ...heldBack.map((version) => {
        const lacking = types.filter((type) => !knows(type, version));
        return `CNI ${version} is not offered to the runtime of this node; ${lacking.join(', ')}: no support for it was found; install newer plugins`;
      }),
    ],
  };
}
