declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  interface Grant {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
    destroy(): Promise<void>;
  }
  interface StoredToken {
    readonly scope?: string;
    readonly accountId?: string;
    readonly clientId: string;
    /** In seconds since the epoch. */
    readonly exp: number;
    readonly isExpired: boolean;
    readonly aud?: string | string[];
    destroy(): Promise<void>;
  }
  interface InteractionDetails {
    readonly prompt: {
      readonly name: string;
      readonly details: {
        readonly missingOIDCScope?: string[];
        readonly missingResourceScopes?: Record<string, string[]>;
      };
    };
    readonly params: Readonly<Record<string, string>>;
    readonly session?: { readonly accountId: string };
    readonly grantId?: string;
  }
  class Provider {
    constructor(issuer: string, configuration: object);
    readonly Grant: (new (of: {
      accountId: string;
      clientId: string;
    }) => Grant) & {
      find(id: string): Promise<Grant | undefined>;
    };
    readonly AccessToken: { find(token: string): Promise<StoredToken | undefined> };
    readonly ClientCredentials: (new (of: {
      readonly client: object;
      readonly scope: string;
    }) => { save(): Promise<string> }) & {
      find(token: string): Promise<StoredToken | undefined>;
    };
    registerGrantType(
      name: string,
      handler: (context: {
        readonly oidc: { readonly client: object; readonly params: Readonly<Record<string, string | undefined>> };
        body: object;
      }) => Promise<void>,
      parameters: readonly string[],
      repeatable: readonly string[],
    ): void;
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    on(event: string, listener: (...args: never[]) => void): void;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<InteractionDetails>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
      options?: object,
    ): Promise<void>;
  }

  export { Provider };
}
