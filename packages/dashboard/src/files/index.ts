export { dashboardFiles } from './dashboard-files.ts'
