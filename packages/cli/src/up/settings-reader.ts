import type { Io } from "../io.js";
import type { OptionValues } from "../options.js";
import { type GatewaySettings, gatewaySettingsPath, noSettings, readGatewaySettings } from "./gateway-settings.js";
import { toolListsOf } from "./tool-lists.js";
import type { upOptions } from "./up-options.js";

/** Reads the settings of a gateway, at its start and whenever they have changed. */
export interface SettingsReader {
  readonly file: string;
  /** Those of the file, with what the options say. Throws a UsageError that names the place of a mistake. */
  read(): GatewaySettings;
}

/** The demonstration has servers of its own: what the user's file says is not about them, unless an option names it. */
export function createSettingsReader(values: OptionValues<typeof upOptions>, io: Io, isDemo: boolean): SettingsReader {
  const file = gatewaySettingsPath(values.settings, io);
  const isNamed = values.settings !== undefined;
  return {
    file,
    read() {
      const settings = isDemo && !isNamed ? noSettings : readGatewaySettings(file, isNamed);
      return { ...settings, tools: toolListsOf(settings.tools, values) };
    },
  };
}
