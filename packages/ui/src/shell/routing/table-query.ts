import { address, setQuery } from "./router.js";

/** The search and the order of a table. */
interface TableQuery {
  readonly search: string;
  readonly onSearch: (search: string) => void;
  readonly sort: { readonly column: string; readonly isDescending: boolean } | undefined;
  readonly onSort: (sort: { readonly column: string; readonly isDescending: boolean }) => void;
}

/** The search and the order of a table, which are kept in the address. `sortParameter` differs if a view has a second table. */
export function tableQuery(sortParameter = "sort"): TableQuery {
  const { query } = address.value;
  const sort = query.get(sortParameter) ?? "";
  return {
    search: query.get("q") ?? "",
    onSearch: (q) => setQuery({ q }),
    sort: sort === "" ? undefined : { column: sort.replace(/^-/, ""), isDescending: sort.startsWith("-") },
    onSort: ({ column, isDescending }) => setQuery({ [sortParameter]: isDescending ? `-${column}` : column }),
  };
}
