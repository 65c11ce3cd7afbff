import { setImmediate as nextTurn } from "node:timers/promises";
import type { Registry } from "@wirescope/channelz/registry";
import type { AdminOptions } from "./admin/admin.js";
import type { ObserverService, RpcService } from "./gateway-observer.js";
import type { Page } from "./page/page.js";
import { keyHeader } from "./page/page-paths.js";

/** The RPC services of a gateway in addition to Channelz: administration, the timeline, and those of observers. */
export interface GatewayServices {
  readonly names: readonly string[];
  /** Loads them. Called with the first request for one of them. */
  open(): Promise<Pick<RpcService, "files" | "routes">>;
  /** Ends their streams, also if they are still being loaded. */
  close(): void;
}

export interface GatewayServicesOptions extends Omit<AdminOptions, "assertAdministrator" | "keepsHistory"> {
  /** The token for methods that change something, in addition to the client token. */
  readonly adminToken: string;
  readonly registry: Registry;
  /** The services of observers. */
  readonly observers: readonly ObserverService[];
  readonly page: Pick<Page, "sessionOf"> | undefined;
}

export function createGatewayServices(options: GatewayServicesOptions): GatewayServices {
  const { registry, observers, page, adminToken } = options;
  let services: readonly RpcService[] = [];
  let isClosed = false;
  const isAdministratorPage = (headers: Headers): boolean => {
    const given = { cookie: headers.get("cookie") ?? undefined, key: headers.get(keyHeader) ?? undefined };
    return page?.sessionOf(given)?.rights === "administrator";
  };
  const close = (): void => {
    isClosed = true;
    for (const service of services) service.close();
  };
  return {
    names: [
      "wirescope.v1.AdminService",
      "wirescope.v1.TimelineService",
      ...(page === undefined ? [] : ["wirescope.v1.PageService"]),
      ...observers.map(({ name }) => name),
    ],
    async open() {
      const { createAdmin } = await import("./admin/admin.js");
      const { createAdministratorCheck } = await import("./admin/admin-request.js");
      // Requests that arrived meanwhile are handled between the steps.
      await nextTurn();
      const { createTimelineService } = await import("@wirescope/channelz/timeline");
      await nextTurn();
      const keepsHistory = page !== undefined;
      const assertAdministrator = createAdministratorCheck(adminToken, isAdministratorPage);
      const admin = createAdmin({ ...options, assertAdministrator, keepsHistory });
      const timeline = createTimelineService(registry, { keepsHistory });
      const loaded = await Promise.all(observers.map(({ load }) => load(assertAdministrator)));
      services = [admin, timeline, ...loaded];
      if (page !== undefined) {
        const { createPageService } = await import("./admin/page-service.js");
        const watched = [admin, ...loaded];
        const pageService = createPageService({
          timeline,
          routes(router) {
            for (const { routes } of watched) routes(router);
          },
          hasCalls: observers.some(({ name }) => name === "wirescope.v1.CallService"),
          events: options.events,
        });
        services = [...services, pageService];
      }
      if (isClosed) close();
      return {
        files: services.flatMap(({ files }) => files),
        routes(router) {
          for (const { routes } of services) routes(router);
        },
      };
    },
    close,
  };
}
