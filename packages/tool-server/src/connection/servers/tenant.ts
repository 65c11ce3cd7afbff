import type { Entry } from "../../config/entry.js";
import type { Variables } from "../../config/substitute-entry.js";

/** The values of the variables by which an entry chooses a tenant, by name. */
export function tenantOf(entry: Entry, variables: Variables): Readonly<Record<string, string>> {
  if (entry.type === "stdio") return {};
  return Object.fromEntries(
    entry.tenants.flatMap(({ variable }) => {
      const value = variables[variable];
      return value === undefined ? [] : [[variable, value] as const];
    }),
  );
}
