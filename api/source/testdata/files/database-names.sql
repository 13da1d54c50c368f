-- without USE
CREATE TABLE `go`.`yourls_log` (`click_id` int, `click_time` datetime, `shorturl` varchar(100));
INSERT INTO `yourls_log` VALUES (1,'2024-01-06 10:00:00','one');
INSERT INTO `go`.`yourls_url` (`keyword`,`url`,`title`,`timestamp`,`ip`,`clicks`) VALUES ('one','https://a.example/1','','2024-01-02 03:04:05','',2);
INSERT INTO `yourls_url` (`keyword`,`url`,`title`,`timestamp`,`ip`,`clicks`) VALUES ('two','https://a.example/2','','2024-01-02 03:04:05','',0);
INSERT INTO `old`.`yourls_url` (`keyword`,`url`,`title`,`timestamp`,`ip`,`clicks`) VALUES ('three','https://old.example/3','','2024-01-02 03:04:05','',0);
INSERT INTO `old`.`Three_url` (`keyword`,`url`,`title`,`timestamp`,`ip`,`clicks`) VALUES ('four','https://old.example/4','','2024-01-02 03:04:05','',0);
INSERT INTO `three_url` (`keyword`,`url`,`title`,`timestamp`,`ip`,`clicks`) VALUES ('five','https://a.example/5','','2024-01-02 03:04:05','',0);
USE `old`;
INSERT INTO `yourls_url` (`keyword`,`url`,`title`,`timestamp`,`ip`,`clicks`) VALUES ('six','https://old.example/6','','2024-01-02 03:04:05','',0);
INSERT INTO `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx` (`keyword`,`url`,`title`,`timestamp`,`ip`,`clicks`) VALUES ('seven','https://old.example/7','','2024-01-02 03:04:05','',0);
