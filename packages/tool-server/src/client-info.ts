/** How we identify ourselves to servers, unless a program says otherwise. All packages share this version. */
export const defaultClientInfo = { name: "wirescope", version: "0.1.0" } as const;
