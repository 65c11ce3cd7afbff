import { setImmediate as nextTurn } from "node:timers/promises";
import type { Registry } from "@wirescope/channelz/registry";
import type { TimelineServiceParts } from "@wirescope/channelz/timeline";
import type { Admin, AdminOptions } from "./admin/admin.js";
import type { CallLog } from "./observers/call-log/call-log.js";
import type { CallServiceParts } from "./observers/call-log/call-service.js";
import type { Page } from "./page/page.js";
import { keyHeader } from "./page/page-paths.js";

/** The RPC services of a gateway in addition to Channelz: administration, calls and the timeline. */
export interface GatewayServices {
  /** Loads them. Called with the first request for one of them. */
  open(): Promise<Pick<Admin, "files" | "routes">>;
  /** Ends their streams, also if they are still being loaded. */
  close(): void;
}

export interface GatewayServicesOptions extends Omit<AdminOptions, "isAdministratorPage" | "keepsHistory"> {
  readonly registry: Registry;
  readonly callLog: CallLog;
  /** Redacts text about a server. */
  readonly redactAbout: (text: string, server: string | undefined) => string;
  readonly page: Pick<Page, "sessionOf"> | undefined;
}

export const serviceNames: readonly string[] = [
  "wirescope.v1.AdminService",
  "wirescope.v1.CallService",
  "wirescope.v1.TimelineService",
];

export function createGatewayServices(options: GatewayServicesOptions): GatewayServices {
  const { registry, callLog, redactAbout, page, adminToken } = options;
  let services: (Admin | CallServiceParts | TimelineServiceParts)[] = [];
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
    async open() {
      const { createAdmin } = await import("./admin/admin.js");
      const { createAdministratorCheck } = await import("./admin/admin-request.js");
      // Requests that arrived meanwhile are handled between the steps.
      await nextTurn();
      const { createCallService } = await import("./observers/call-log/call-service.js");
      const { createTimelineService } = await import("@wirescope/channelz/timeline");
      await nextTurn();
      const keepsHistory = page !== undefined;
      const assertAdministrator = createAdministratorCheck(adminToken, isAdministratorPage);
      services = [
        createAdmin({ ...options, isAdministratorPage, keepsHistory }),
        createCallService({ log: callLog, redact: redactAbout, assertAdministrator }),
        createTimelineService(registry, { keepsHistory }),
      ];
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
