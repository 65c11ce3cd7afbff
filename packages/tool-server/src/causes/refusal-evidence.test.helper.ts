import type { HeaderEvidence, RefusalEvidence, TokenEvidence } from "./refusal-evidence.js";

export const now: number = Date.UTC(2030, 0, 1);

/** The Authorization header of an entry, with the variable API_TOKEN. */
export const headerEvidence = (more: Partial<HeaderEvidence> = {}): HeaderEvidence => ({
  name: "Authorization",
  from: "configuration",
  variables: ["API_TOKEN"],
  isCredential: true,
  scheme: "Bearer",
  ...more,
});

/** A 401 to a request with a literal token in Authorization. */
export const refusalEvidence = (more: Partial<RefusalEvidence> = {}): RefusalEvidence => ({
  status: 401,
  now,
  skewMs: 0,
  headers: [headerEvidence({ variables: [] })],
  tokens: [],
  tenants: [],
  tenantVariables: [],
  ...more,
});

/** The claims of a token in the variable API_TOKEN. */
export const tokenEvidence = (more: Partial<TokenEvidence> = {}): TokenEvidence => ({
  header: "Authorization",
  from: "configuration",
  variables: ["API_TOKEN"],
  issuedAt: undefined,
  notBefore: undefined,
  expiresAt: undefined,
  audience: [],
  isForServer: undefined,
  scopes: undefined,
  tenants: [],
  ...more,
});
