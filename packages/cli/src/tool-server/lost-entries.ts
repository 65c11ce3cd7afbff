import type { Configuration, Finding } from "@wirescope/tool-server/config";

/** What is wrong with entries that cannot be understood at all, and so are not among those of the configuration: the first for each. */
export function lostEntries({ entries, findings }: Configuration): readonly (Finding & { readonly server: string })[] {
  const seen = new Set(entries.map(({ name }) => name));
  return findings.flatMap((finding) => {
    const { server, severity } = finding;
    if (severity !== "error" || server === undefined || seen.has(server)) return [];
    seen.add(server);
    return [{ ...finding, server }];
  });
}
