import type { WalkFacts } from "./facts.js";

/** The permissions that a server asks for, as a sign-in would choose them; undefined where nobody named any. */
export function permissionsOf({ attempt, oauth }: WalkFacts): readonly string[] | undefined {
  const named = [attempt?.refusal?.challenge?.scopes, oauth?.resource?.scopes, oauth?.before?.scopes];
  return named.find((scopes) => scopes !== undefined && scopes.length > 0);
}
