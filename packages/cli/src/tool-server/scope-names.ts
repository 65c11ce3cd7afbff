import { UsageError } from "../usage-error.js";

/** Throws a UsageError where one is no name of a permission. */
export function assertScopes(scopes: readonly string[]): void {
  for (const scope of scopes) {
    if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) throw new UsageError(`--scope "${scope}" is not a valid scope.`);
  }
}
