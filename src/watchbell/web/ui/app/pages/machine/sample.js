/** The full sample of a server, which it sends once a minute, and its quick values of each second. */

/**
 * @typedef {{user: number, nice: number, system: number, idle: number, iowait: number, irq: number, softirq: number, steal: number, active: number}} Shares
 * @typedef {{pid: number, parentPid: number, user: string, command: string, cpu: number, mem: number, memRss: number, memVsz: number,
 *   state: string, started: number, age: number, time: number, threads: number, nice: number}} Process
 * @typedef {{type: string, state: string, local_addr: string, remote_addr: string, pid: number}} Socket
 * @typedef {{mount: string, fs: string, type: string, size: number, used: number, available: number, use: number, rw: boolean}} Mount
 * @typedef {{iface: string, ip4: string, ip6: string, operstate: string, rx_bytes: number, tx_bytes: number, rx_sec: number, tx_sec: number,
 *   rx_errors: number, tx_errors: number}} Interface
 * @typedef {{user: string, tty: string, from: string, since: number}} User
 * @typedef {{hostname: string, date: number, uptime_sec: number, load: [number, number, number],
 *   cpu: {avgLoad: number, currentLoad: number, cores: number, brand: string, totals: Shares, cpus: Shares[]},
 *   memory: Record<string, number>, mounts: Record<string, Mount>, interfaces: Record<string, Interface>,
 *   processes: {all: number, running: number, sleeping: number, blocked: number, zombie: number, stopped: number, list: Process[]},
 *   connections: {all: number, states: Record<string, number>, list: Socket[]}, users: User[], jobs: number,
 *   commands: Record<string, any>, commands_errors: Record<string, string>}} Sample
 * @typedef {{date: number, cpu_load: number, cpu_usage: number, mem_used: number, mem_avail: number, disk_read_sec: number,
 *   disk_write_sec: number, net_in_sec: number, net_out_sec: number}} Quick
 */

/** Of memory, by its kind; 0 where the sample does not have it. @param {Sample} sample @param {string} kind */
export const memory = (sample, kind) => sample.memory[kind] ?? 0;
